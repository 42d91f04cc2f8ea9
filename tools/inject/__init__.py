"""Known faults, planted one at a time into copies of real projects: what does the scan newly say?"""
