package bus

import (
	"fmt"
	"strings"
	"sync"

	"github.com/rs/zerolog"
)

// serverLog hands the embedded server's log to zerolog. What the server calls fatal ends nothing here: it is kept, so
// that startServer can report it.
type serverLog struct {
	log zerolog.Logger
	// denied reports what members tried that they may not.
	denied tally

	mu   sync.Mutex
	text string
}

func newServerLog(log zerolog.Logger) *serverLog {
	l := &serverLog{log: log}
	l.denied.tell = func(times int, last string) { log.Error().Int("times", times).Msg(last) }
	return l
}

// Noticef implements server.Logger.
func (l *serverLog) Noticef(format string, v ...any) { l.log.Debug().Msgf(format, v...) }

// Warnf implements server.Logger. That a store was not closed and is read again is no warning: owners are killed, and that is
// what the log of events is for. Nor is an older state of a consumer that the store leaves out, as it has a newer one.
func (l *serverLog) Warnf(format string, v ...any) {
	text, level := fmt.Sprintf(format, v...), zerolog.WarnLevel
	for _, quiet := range []string{"Stream state outdated", "state is outdated", "old update ignored"} {
		if strings.Contains(text, quiet) {
			level = zerolog.DebugLevel
		}
	}
	l.log.WithLevel(level).Msg(text)
}

// Errorf implements server.Logger. Anybody on this machine can try to log in: that it was refused is no error of the run. A write
// that failed is told once, by the stream.
func (l *serverLog) Errorf(format string, v ...any) {
	text, level := fmt.Sprintf(format, v...), zerolog.ErrorLevel
	if strings.Contains(text, " Violation - ") {
		l.denied.add(text)
		return
	}
	for _, quiet := range []string{
		"authentication error", "authentication timeout", "maximum authentication attempts", "TLS handshake error",
		"ritical write error",
	} {
		if strings.Contains(text, quiet) {
			level = zerolog.DebugLevel
		}
	}
	l.log.WithLevel(level).Msg(text)
}

// Debugf implements server.Logger.
func (l *serverLog) Debugf(format string, v ...any) { l.log.Trace().Msgf(format, v...) }

// Tracef implements server.Logger.
func (l *serverLog) Tracef(format string, v ...any) { l.log.Trace().Msgf(format, v...) }

// Fatalf implements server.Logger.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text == "" {
		l.text = fmt.Sprintf(format, v...)
	}
	l.log.Error().Msgf(format, v...)
}

func (l *serverLog) fatal() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}
