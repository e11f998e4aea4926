"""`aiayn report page`: everything about a sweep in one HTML file that opens anywhere."""
