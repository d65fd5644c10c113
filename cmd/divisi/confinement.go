package main

import (
	"errors"

	"github.com/spf13/cobra"

	"divisi/internal/sandbox"
)

// What --sandbox can be.
const (
	sandboxAuto   = "auto"
	sandboxStrict = "strict"
)

func (o *runOptions) sandboxFlag(c *cobra.Command) {
	c.Flags().StringVar(&o.sandbox, "sandbox", sandboxAuto,
		"auto: confine commands as far as this machine can; strict: do not start unless it can fully")
}

// checkSandbox refuses to start where commands must be fully confined and cannot be.
func checkSandbox(mode string) error {
	switch mode {
	case sandboxAuto:
		var untried *sandbox.UntriedError
		if err := sandbox.Probe().Strict(); errors.As(err, &untried) {
			return untried
		}
		return nil
	case sandboxStrict:
		return sandbox.Probe().Strict()
	default:
		return usagef("--sandbox %q: want %s or %s", mode, sandboxAuto, sandboxStrict)
	}
}

// notices are what a person should know before commands run.
func notices() []string {
	if level := sandbox.Probe(); level.Strict() != nil {
		return []string{level.String()}
	}
	return nil
}
