package schedule

import (
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
)

// OutputFile is the file with the whole output of an object's name; "" where the run keeps none.
func OutputFile(s *run.State, object string) string { return gate.OutputFile(s.Spec.Outputs, object) }

// Reason is a fault in one line, with the file that shows the whole of it.
func Reason(s *run.State, f spec.Fault) string { return WithOutput(f.Message, OutputFile(s, f.Output)) }

func WithOutput(text, file string) string {
	if file == "" {
		return text
	}
	return text + " (whole output: " + file + ")"
}
