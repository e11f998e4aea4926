"""The sharpness of attention, untrained and trained (section 3.2.1): `aiayn report sharpness`."""
