package loopguard

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"divisi/internal/spec"
)

// maxLine bounds a line of a replay, in bytes.
const maxLine = 16 << 20

// LineError is a line of a replay that cannot be read.
type LineError struct {
	// Line counts from 1.
	Line int
	Err  error
}

// Error names the line.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong with it.
func (e *LineError) Unwrap() error { return e.Err }

// Replay feeds a guard with lines of JSON, one event each, as they come: {"text": string}, {"thought": string},
// {"call": {"name": string, "args": object}}, {"result": any}, {"prompt": any}. It reports each strike with its event, which
// is the number of the line from 0 on; blank lines count and say nothing. After the second strike it reads on, and takes
// nothing until a prompt. Errors are a *LineError, or those of r and report.
func Replay(r io.Reader, report func(event int, s *Strike) error) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	g := New()
	for i := 0; ; i++ {
		line, err := readLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return lineFault(i, err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			e, err := parseEvent(line)
			if err != nil {
				return &LineError{Line: i + 1, Err: err}
			}
			if err := e.feed(g, func(s *Strike) error { return report(i, s) }); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

var errLongLine = fmt.Errorf("the line is longer than %d bytes", maxLine)

func lineFault(i int, err error) error {
	if errors.Is(err, errLongLine) {
		return &LineError{Line: i + 1, Err: err}
	}
	return fmt.Errorf("read line %d: %w", i+1, err)
}

// readLine reads a line with its end. At the end of the input it returns what there was, and io.EOF.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, errLongLine
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// event is one line of a replay.
type event struct {
	kind string
	text string
	name string
	args map[string]any
	// result is that of a result.
	result any
}

// The fields of a line.
const (
	fieldText    = "text"
	fieldThought = "thought"
	fieldCall    = "call"
	fieldResult  = "result"
	fieldPrompt  = "prompt"
)

func parseEvent(line []byte) (event, error) {
	names := []string{fieldText, fieldThought, fieldCall, fieldResult, fieldPrompt}
	fields, err := spec.Object(line, names...)
	if err != nil {
		return event{}, err
	}
	if len(fields) != 1 {
		return event{}, fmt.Errorf("a line must have one of %s, not %d", strings.Join(names, ", "), len(fields))
	}
	e := event{kind: slices.Collect(maps.Keys(fields))[0]}
	switch body := fields[e.kind]; e.kind {
	case fieldText, fieldThought:
		e.text, err = textOf(e.kind, body)
	case fieldCall:
		err = e.parseCall(body)
	case fieldResult:
		err = decode(body, &e.result)
	}
	return e, err
}

func (e *event) parseCall(body []byte) error {
	fields, err := spec.Object(body, "name", "args")
	if err != nil {
		return fmt.Errorf("call: %w", err)
	}
	if e.name, err = textOf("name", fields["name"]); err != nil || e.name == "" {
		return errors.New(`call: want a "name" that is a string`)
	}
	if args, ok := fields["args"]; ok && decode(args, &e.args) != nil {
		return errors.New(`call: "args" has to be an object`)
	}
	return nil
}

// feed gives the event to a guard, and each strike to report.
func (e *event) feed(g *Guard, report func(*Strike) error) error {
	if e.kind == fieldPrompt {
		g.Prompt()
	}
	for text := e.text; g.stopped == nil; {
		s := e.give(g, text)
		if s == nil {
			return nil
		}
		if err := report(s); err != nil {
			return err
		}
		text = text[s.At:]
		if text == "" {
			return nil
		}
	}
	return nil
}

func (e *event) give(g *Guard, text string) *Strike {
	switch e.kind {
	case fieldText:
		return g.Text(text)
	case fieldThought:
		return g.Thought(text)
	case fieldCall:
		return g.Call(e.name, e.args)
	case fieldResult:
		g.Result(e.result)
	}
	return nil
}

func textOf(name string, body []byte) (string, error) {
	var text *string
	if err := json.Unmarshal(body, &text); err != nil || text == nil {
		return "", fmt.Errorf("%q has to be a string", name)
	}
	return *text, nil
}

// decode reads a value; numbers stay as they are written.
func decode(body []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	return dec.Decode(v)
}
