//go:build !unix

package shim

import "os/exec"

// Apart changes nothing: other systems have no sessions.
func Apart(*exec.Cmd) {}
