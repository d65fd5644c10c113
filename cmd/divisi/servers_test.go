package main

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// exampleServer: exampleserver NAME builds the MCP SDK's example server where the script's commands find it.
func exampleServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: exampleserver NAME")
	}
	to := filepath.Join(ts.Getenv("HOLD"), args[0])
	cmd := exec.Command("go", "build", "-o", to, "github.com/modelcontextprotocol/go-sdk/examples/server/hello")
	cmd.Env = os.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		ts.Fatalf("build the example server: %v\n%s", err, out)
	}
}
