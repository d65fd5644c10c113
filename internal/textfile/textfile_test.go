package textfile

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// utf16of writes a text in UTF-16, without a mark.
func utf16of(text string, order binary.AppendByteOrder) string {
	var out []byte
	for _, u := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, u)
	}
	return string(out)
}

func le(text string) string { return utf16of(text, binary.LittleEndian) }
func be(text string) string { return utf16of(text, binary.BigEndian) }

const (
	mark8, markLE, markBE = "\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"
	form16                = "UTF-16"
	formMark              = "a byte order mark"
	formCRLF              = "lines that end with CRLF"
)

func TestRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ data, text, form string }{
		"empty":                {"", "", ""},
		"plain":                {"a\nb\n", "a\nb\n", ""},
		"CRLF":                 {"a\r\nb\r\n", "a\nb\n", formCRLF},
		"half CRLF":            {"a\r\nb\n", "a\nb\n", ""},
		"old line ends":        {"a\rb\r", "a\rb\r", ""},
		"CR before CRLF":       {"a\r\r\n", "a\r\n", formCRLF},
		"marked":               {mark8 + "a\n", "a\n", formMark},
		"marked twice":         {mark8 + mark8 + "a", "\ufeffa", formMark},
		"marked CRLF":          {mark8 + "a\r\n", "a\n", formMark + ", " + formCRLF},
		"latin":                {"caf\xe9\r\n", "caf\xe9\n", formCRLF},
		"UTF-16 little":        {markLE + le("é𝄞\n"), "é𝄞\n", form16 + ", " + formMark},
		"UTF-16 big, CRLF":     {markBE + be("a\r\nb\r\n"), "a\nb\n", form16 + ", " + formMark + ", " + formCRLF},
		"a mark alone":         {markLE, "", form16 + ", " + formMark},
		"unmarked little":      {le("name = 1\r\nx"), "name = 1\nx", form16 + ", " + formCRLF},
		"unmarked big":         {be("name = 1\n"), "name = 1\n", form16},
		"unmarked Japanese":    {le("値 = 「変更」\n"), "値 = 「変更」\n", form16},
		"half a pair":          {markLE + "\x00\xd8a\x00", "\ufffda", form16 + ", " + formMark},
		"half a unit":          {markLE + le("a") + "b", "a\ufffd", form16 + ", " + formMark},
		"long, no mark":        {le(strings.Repeat("line 1\n", 9000)), strings.Repeat("line 1\n", 9000), form16},
		"a pair over the head": {le("a" + strings.Repeat("b𝄞", 3000)), "a" + strings.Repeat("b𝄞", 3000), form16},
		"zero after the head":  {strings.Repeat("a", head) + "\x00", strings.Repeat("a", head) + "\x00", ""},
	} {
		f, ok := Read([]byte(c.data))
		require.True(t, ok, name)
		require.Equal(t, c.text, string(f.Text), name)
		require.Equal(t, c.form, f.Form(), name)
		require.Equal(t, c.data, string(f.Replace(nil)), name)
		require.Equal(t, c.text == c.data, f.Plain(), name)
	}
	for name, data := range map[string]string{
		"a zero":                "ab\x00cd\n",
		"no more than a word":   "a\x00b\x00c\x00",
		"no letter of any word": "a\x00b\nc\x00d\x00e\x00f\x00",
		"a marked zero":         mark8 + "ab\x00",
		"names":                 "a.txt\x00b.txt\x00",
		"zeros":                 "\x00\x00\x00\x00",
		"UTF-32":                "\xff\xfe\x00\x00a\x00\x00\x00",
		"UTF-32, big":           "\x00\x00\xfe\xff\x00\x00\x00a",
		"a program":             "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00",
		"a picture":             "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01\x00",
		"an odd number":         le("name") + "x",
		"controls in UTF-16":    le("a\x01b"),
		"half a pair, unmarked": "a\x00b\x00\x00\xd8c\x00",
		"numbers of 16 bits":    "\x10\x27\x11\x00\x12\x27\x13\x27",
		"no ASCII":              "\x12\x30\x13\x30\x14\x30\x15\x30\x16\x30\x00\x30",
		"a letter in much":      le("a" + strings.Repeat("\u3012", 9)),
	} {
		_, ok := Read([]byte(data))
		require.False(t, ok, name)
	}
}

func TestWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ data, text, want string }{
		{"a\n", "b\nc\n", "b\nc\n"},
		{"a\r\n", "b\nc\n", "b\r\nc\r\n"},
		{"a\n", "b\r\n", "b\r\n"},
		{"a\r\n", "b\r\nc\n", "b\r\nc\n"},
		{mark8 + "a\n", "é\n", mark8 + "é\n"},
		{mark8 + "a\n", mark8 + "b\n", mark8 + "b\n"},
		{"a\n", mark8 + "b\n", mark8 + "b\n"},
		{markLE + le("a\r\n"), "𝄞\n", markLE + le("𝄞\r\n")},
		{be("name\n"), "x\n", be("x\n")},
	} {
		f, ok := Read([]byte(c.data))
		require.True(t, ok)
		require.Equal(t, c.want, string(f.Whole(c.text)), "%q", c.data)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	const old = "one\nimport old\nrest\nimport old"
	crlf := strings.ReplaceAll(old, "\n", "\r\n")
	for _, data := range []string{
		old, crlf, mark8 + old, mark8 + crlf, markLE + le(crlf), markBE + be(old), le(crlf), be(crlf),
	} {
		for expr, want := range map[string][]int{
			`(?m)^import old$`: {2, 4}, `(?m)^one$`: {1}, `old\z`: {4}, `\Aone`: {1}, `old\nrest`: {2}, `(?m)d\s*$`: {2, 4},
			`(?m)^[^\r\n]*old$`: {2, 4}, `nothing`: nil, `(?m)^import old$\n^rest$`: {2},
		} {
			p, err := Compile(expr)
			require.NoError(t, err)
			lines, binary := p.Lines([]byte(data), -1)
			require.Equal(t, want, lines, "%s in %q", expr, data)
			require.False(t, binary)
			if lines, _ = p.Lines([]byte(data), 1); want != nil {
				require.Equal(t, want[:1], lines)
			}
		}
	}
	for expr, finds := range map[string][]string{
		`\r\n`:        {"a\r\nb", mark8 + "a\r\nb", markLE + le("a\r\nb"), be("aaa\r\nb")},
		`(?m)\r$`:     {"a\r\n", markBE + be("a\r\n")},
		`[^\r]\n`:     {"a\n", mark8 + "a\n", markLE + le("a\n")},
		"a\x0d":       {"a\r\n"},
		`[\r\n]b`:     {"a\nb", "a\r\nb", "a\rb"},
		`^\x{FEFF}a`:  {mark8 + "a", markLE + le("a"), markBE + be("a\r\n")},
		"^\ufeff":     {mark8 + "a"},
		`C:\\root\\r`: {`C:\root\r`, mark8 + `C:\root\r`},
	} {
		p, err := Compile(expr)
		require.NoError(t, err)
		for _, data := range []string{
			"a\r\nb", mark8 + "a\r\nb", markLE + le("a\r\nb"), be("aaa\r\nb"), "a\r\n", markBE + be("a\r\n"), "a\n", mark8 + "a\n",
			markLE + le("a\n"), "a\nb", "a\rb", mark8 + "a", markLE + le("a"), `C:\root\r`, mark8 + `C:\root\r`,
		} {
			for _, wanted := range finds {
				if wanted == data {
					lines, _ := p.Lines([]byte(data), -1)
					require.Equal(t, []int{1}, lines, "%s in %q", expr, data)
				}
			}
		}
		plain, _ := p.Lines([]byte("x\ny"), -1)
		if expr != `[^\r]\n` {
			require.Empty(t, plain, expr)
		}
	}
	unlike, err := Compile(`[^\r]\n`)
	require.NoError(t, err)
	lines, _ := unlike.Lines([]byte("a\r\nb\r\n"), -1)
	require.Empty(t, lines, "what looks for lines without \\r does not find those with it")
	p, err := Compile("old")
	require.NoError(t, err)
	lines, binary := p.Lines([]byte("\x00\x01\nold"), -1)
	require.Equal(t, []int{2}, lines)
	require.True(t, binary)
	_, err = Compile("(")
	require.Error(t, err)
}

// Whatever a file is, no change leaves it as it is, a change leaves all else, and the text is what was meant.
func TestChangesLeaveAllElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringMatching(`[a-zé𝄞 ]{0,6}`), 1, 8).Draw(t, "lines")
		var text strings.Builder
		for _, line := range lines {
			text.WriteString(line + rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end"))
		}
		encoded := rapid.SampledFrom([]func(string) string{
			func(s string) string { return s },
			func(s string) string { return mark8 + s },
			func(s string) string { return markLE + le(s) },
			func(s string) string { return markBE + be(s) },
		}).Draw(t, "kind")
		f, ok := Read([]byte(encoded(text.String())))
		require.True(t, ok)
		require.Equal(t, strings.Join(lines, "\n")+"\n", string(f.Text))
		from := rapid.IntRange(0, len(f.Text)).Draw(t, "from")
		for !utf8.RuneStart(append(f.Text, 0)[from]) {
			from--
		}
		to := rapid.IntRange(from, len(f.Text)).Draw(t, "to")
		for !utf8.RuneStart(append(f.Text, 0)[to]) {
			to++
		}
		put := rapid.StringMatching(`[a-zé𝄞\n]{0,6}`).Draw(t, "put")
		changed := f.Replace([]Change{{from, to, put}})
		again, ok := Read(changed)
		require.True(t, ok)
		require.Equal(t, string(f.Text[:from])+put+string(f.Text[to:]), string(again.Text))
		require.Equal(t, f.mark, again.mark)
		require.Equal(t, f.units, again.units)
		same := f.Replace([]Change{{from, to, string(f.Text[from:to])}})
		if f.crlf == 0 || f.lf == 0 {
			require.Equal(t, string(f.data), string(same))
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"a\r\nb\r", mark8 + "a\x00", markLE + le("a\r\n𝄞") + "\xd8", be("name\r\n"), "\xff\xfe\xff\xff\x00\xd8"} {
		f.Add([]byte(s), uint16(1), uint16(2))
	}
	f.Fuzz(func(t *testing.T, data []byte, from, to uint16) {
		file, ok := Read(data)
		if !ok {
			return
		}
		require.Equal(t, string(data), string(file.Replace(nil)))
		start, end := min(int(from), len(file.Text)), min(int(to), len(file.Text))
		if start > end {
			return
		}
		without := file.Replace([]Change{{start, end, ""}})
		require.LessOrEqual(t, len(without), len(data))
		require.True(t, bytes.HasPrefix(without, data[:file.mark]))
		p, err := Compile(`(?m)^.*$`)
		require.NoError(t, err)
		lines, _ := p.Lines(data, -1)
		require.Len(t, lines, 1+bytes.Count(file.Text, []byte("\n")))
	})
}
