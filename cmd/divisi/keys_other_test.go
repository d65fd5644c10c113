//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

// ttyCommands are commands of scripts for programs with a terminal.
var ttyCommands map[string]func(*testscript.TestScript, bool, []string)
