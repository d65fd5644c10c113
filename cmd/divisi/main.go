// Command divisi carries out one large refactor as many small, verified pieces done in parallel.
package main

import (
	"os"
)

func main() {
	os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
