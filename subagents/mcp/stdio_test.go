package mcp

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

type onlyOutput struct{ io.Reader }

func (onlyOutput) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (onlyOutput) Close() error              { return nil }
func (onlyOutput) Tail() string              { return "" }

func TestLinesThatAreNoMessagesArePassedOver(t *testing.T) {
	t.Parallel()
	long := `{"a":"` + strings.Repeat("x", 200_000) + `"}`
	text := "Hello!\n{\"a\":1}\r\n\n  [2]\n" + strings.Repeat("noise ", 50_000) + "{\n" + long + "\nbye\n{\"cut"
	for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
		got, err := io.ReadAll(newLines(onlyOutput{r}))
		require.NoError(t, err)
		require.Equal(t, "{\"a\":1}\r\n  [2]\n"+long+"\n{\"cut", string(got))
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\n{b\n"), 1)
	f.Add([]byte("{\n\n\r\n [ x"), 3)
	f.Fuzz(func(t *testing.T, text []byte, most int) {
		var want []byte
		for line := range bytes.SplitAfterSeq(text, []byte("\n")) {
			if start := bytes.TrimLeft(line, " \t\r"); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
				want = append(want, line...)
			}
		}
		got, err := io.ReadAll(io.LimitReader(newLines(onlyOutput{bytes.NewReader(text)}), int64(len(text)+1)))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		l, part := newLines(onlyOutput{iotest.HalfReader(bytes.NewReader(text))}), make([]byte, 1+max(0, most)%7)
		var again []byte
		for more := true; more; {
			n, err := l.Read(part)
			again, more = append(again, part[:n]...), err == nil
		}
		require.Equal(t, string(want), string(again))
	})
}
