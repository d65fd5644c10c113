package main

// What --sandbox can be.
const (
	sandboxAuto   = "auto"
	sandboxStrict = "strict"
)
