package cli

import (
	"os"
	"path/filepath"

	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/depot"
)

// What --sandbox can be.
const (
	SandboxAuto   = "auto"
	SandboxStrict = "strict"
)

// ExternalServer is a NATS server with its credentials.
func ExternalServer(url, creds string) (orchestrator.Server, error) {
	if creds == "" {
		return orchestrator.Server{URL: url}, nil
	}
	if !depot.IsCredentials(creds) {
		return orchestrator.Server{}, usage.Errorf(
			"--creds %s: a file of NATS credentials ends in .creds, or in .nk for a seed", creds)
	}
	if _, err := os.Stat(creds); err != nil {
		return orchestrator.Server{}, usage.Errorf("--creds: %v", err)
	}
	path, err := filepath.Abs(creds)
	return orchestrator.Server{URL: url, Login: path}, err
}
