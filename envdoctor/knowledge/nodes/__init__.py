"""What is known of nodes beyond rules: layouts of installs, masks of devices, messages of drivers."""
