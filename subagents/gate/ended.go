package gate

import (
	"fmt"

	"divisi/internal/sandbox"
)

// MaxTail bounds, in bytes, the output that the fault of a failed command keeps.
const MaxTail = 8 << 10

// OutOfMemory is why a command was killed that used too much memory.
const OutOfMemory = "killed: its processes together used more memory than a command may"

// HowEnded tells how a command that failed ended, with its first error line.
func HowEnded(args []string, out *sandbox.Output) string {
	switch {
	case out.OutOfMemory:
		return fmt.Sprintf("%s was %s", args[0], OutOfMemory)
	case out.Signal != "":
		return fmt.Sprintf("%s was ended by signal %s", args[0], out.Signal)
	default:
		text := fmt.Sprintf("%s exited with %d", args[0], out.ExitCode)
		if line := FirstError(out.Text()); line != "" {
			text += ": " + line
		}
		return text
	}
}
