"""Environment modules, in Tcl and Lua."""
