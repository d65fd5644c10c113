package gate

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/errorline"
)

// maxOutputName bounds the name of an output's file, in bytes: "output-" and enough of the digest.
const maxOutputName = 23

// maxFirstError bounds, in bytes, a line that is quoted as the reason of a failure.
const maxFirstError = 240

// FirstError returns the first line of an output that reports an error: a line that becomes a signature, else one that
// complains, else the last line. Summaries of build tools come last.
func FirstError(output string) string {
	var found [3]string // a complaint, the last line, a summary
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(plain(text.Head(line, maxTextLine)))
		if line == "" || line == strings.TrimSpace(moreNote) {
			continue
		}
		switch class, _ := errorline.Classify(line); {
		case class == errorline.Test || class == errorline.Error:
			return text.Head(line, maxFirstError)
		case class == errorline.Noise:
			found[2] = cmp.Or(found[2], line)
		case class == errorline.Complaint && found[0] == "":
			found[0] = line
		default:
			found[1] = line
		}
	}
	return text.Head(cmp.Or(found[:]...), maxFirstError)
}

// LastError returns the last line of an output that reports an error; "" where none does.
func LastError(output string) (last string) {
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(plain(text.Head(line, maxTextLine)))
		switch class, _ := errorline.Classify(line); class {
		case errorline.Test, errorline.Error, errorline.Complaint:
			last = line
		}
	}
	return text.Head(last, maxFirstError)
}

// Reason returns in one line why a red gate is red: the first error that is not in its receipt on the base commit, which may
// be nil.
func Reason(r spec.Receipt, baseline *spec.Receipt) string {
	fresh := NewSignatures(r, baseline)
	first := FirstError(r.Tail)
	switch {
	case r.TimedOut:
		return fmt.Sprintf("killed after %s", r.Duration.Round(1e9))
	case len(r.Errors) > 0 && slices.Contains(fresh, r.Errors[0].Signature):
		return text.Head(r.Errors[0].String(), maxFirstError)
	case len(fresh) > 0 && (first == "" || len(fresh) < len(r.Signatures)):
		return fresh[0]
	case first != "":
		return first
	default:
		return fmt.Sprintf("exit code %d", r.ExitCode)
	}
}

// Shown returns a failure as the tool printed it where the receipt has that, else its signature.
func Shown(r *spec.Receipt, signature string) string {
	at := slices.IndexFunc(r.Errors, func(f spec.Finding) bool { return f.Signature == signature })
	if at < 0 {
		return signature
	}
	return text.Head(r.Errors[at].String(), maxFirstError)
}

// InSource is Shown, with the line of the source where the receipt has it.
func InSource(r *spec.Receipt, signature string) string {
	shown := Shown(r, signature)
	at := slices.IndexFunc(r.Errors, func(f spec.Finding) bool { return f.Signature == signature && f.Source != "" })
	if at < 0 {
		return shown
	}
	return fmt.Sprintf("%s, in %q", shown, r.Errors[at].Source)
}

// OutputFile returns the file in dir that has the whole output whose object has the name; "" where there is none.
func OutputFile(dir, object string) string {
	if dir == "" || object == "" {
		return ""
	}
	name := path.Base(object)
	return filepath.Join(dir, name[:min(len(name), maxOutputName)]+".txt")
}

// MaxTail bounds, in bytes, the output that the fault of a failed command keeps.
const MaxTail = 8 << 10

// HowEnded reports how a command that failed ended, with its first error line.
func HowEnded(args []string, out *sandbox.Output) string {
	switch {
	case out.Exceeded() != "":
		return fmt.Sprintf("%s was killed: %s", args[0], out.Exceeded())
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
