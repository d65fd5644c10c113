package cli

import (
	"cmp"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/term"
)

// Width returns a terminal's width in cells, and 100 for anything else.
func Width(w io.Writer) int { return cmp.Or(Columns(w), 100) }

// Columns is the width of a terminal in cells; 0 for anything else.
func Columns(w io.Writer) int {
	columns, _ := size(w)
	return columns
}

// height returns a terminal's height in cells, and 24 for anything else.
func height(w io.Writer) int {
	_, lines := size(w)
	return cmp.Or(lines, 24)
}

func size(w io.Writer) (columns, lines int) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, 0
	}
	columns, lines, err := term.GetSize(f.Fd())
	if err != nil {
		return 0, 0
	}
	return columns, lines
}

// IsTerminal reports whether v is a terminal that shows text to a person.
func IsTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(f.Fd()) && os.Getenv("TERM") != "dumb"
}

// redirect is a writer whose target can change while others hold it. It is safe for concurrent use.
type redirect struct {
	mu sync.Mutex
	to io.Writer
}

// Set changes the target and returns the one before.
func (r *redirect) Set(to io.Writer) io.Writer {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.to
	r.to = to
	return before
}

// Write implements io.Writer.
func (r *redirect) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.to.Write(p)
}

// Colourful honours NO_COLOR (no-color.org).
func Colourful() bool { return os.Getenv("NO_COLOR") == "" }

// utf8Locale reports whether the terminal's characters are UTF-8, by the rules of POSIX; those of Windows are.
func utf8Locale() bool {
	locale := strings.ToLower(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	return runtime.GOOS == "windows" || strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}

// Now is the time of this machine, in UTC.
func Now() time.Time { return time.Now().UTC() }
