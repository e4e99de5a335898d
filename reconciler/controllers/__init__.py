"""Law: loops. Each looks, lets `decide` choose and acts once; no question about GPUs is answered here."""
