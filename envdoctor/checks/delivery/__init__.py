"""Does a setting reach the process that needs it, in time and as it was meant?"""
