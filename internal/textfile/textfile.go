// Package textfile reads the bytes of a file as the text that an editor shows, and changes it so that all else stays: in UTF-8 or
// UTF-16, with or without a byte order mark, with lines that end with \n or \r\n. Its input and output are bytes; it opens no
// file.
package textfile

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// File is the text of a file.
type File struct {
	// Text is in UTF-8, without a byte order mark, and its lines end with \n. What was no UTF-8 in the file stays as it was.
	Text []byte

	data []byte
	// units is the byte order of UTF-16; nil for UTF-8.
	units binary.ByteOrder
	// mark is how many bytes the byte order mark has.
	mark int
	// lf and crlf count the lines by their end.
	lf, crlf int
}

// head is the part of a file, in bytes, by which it is known, as git does.
const head = 8000

// Read reads a file. It returns false for a binary: a file with a zero byte at its beginning that is no UTF-16.
func Read(data []byte) (*File, bool) {
	f := &File{data: data}
	start := data[:min(len(data), head)]
	zero := bytes.IndexByte(start, 0) >= 0
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		f.mark = 3
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		f.units, f.mark = binary.LittleEndian, 2
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		f.units, f.mark = binary.BigEndian, 2
	case zero && written(start, binary.LittleEndian):
		f.units = binary.LittleEndian
	case zero && written(start, binary.BigEndian):
		f.units = binary.BigEndian
	}
	if f.units == nil && zero || f.units != nil && hasZero(start[f.mark:], f.units) {
		return nil, false
	}
	f.decode()
	return f, true
}

// hasZero reports whether UTF-16 has a character that no text has: UTF-32 has one in each of its own.
func hasZero(data []byte, units binary.ByteOrder) bool {
	for ; len(data) > 1; data = data[2:] {
		if units.Uint16(data) == 0 {
			return true
		}
	}
	return false
}

// written reports whether bytes without a mark, which git writes for working-tree-encoding=UTF-16LE, are text in UTF-16: at least
// four characters that people write, and half of them ASCII, or a quarter where there are blanks or lines. Names with zeros
// between them have less.
func written(data []byte, units binary.ByteOrder) bool {
	ascii, all, enough := 0, 0, 2
	for rest := data; len(rest) > 1; rest = rest[2:] {
		all++
		switch u := rune(units.Uint16(rest)); {
		case utf16.IsSurrogate(u):
			if len(rest) >= 4 && utf16.DecodeRune(u, rune(units.Uint16(rest[2:]))) != utf8.RuneError {
				rest = rest[2:]
			} else if len(rest) >= 4 || len(data) < head {
				return false
			}
		case !unicode.IsGraphic(u) && !unicode.Is(unicode.Cf, u) && !strings.ContainsRune("\t\n\f\r", u):
			return false
		case u <= ' ':
			ascii, enough = ascii+1, 4
		case u <= '~':
			ascii++
		}
	}
	return len(data)%2 == 0 && all >= 4 && ascii*enough >= all
}

// decode makes the text.
func (f *File) decode() {
	if body := f.data[f.mark:]; f.units == nil {
		f.crlf = bytes.Count(body, []byte("\r\n"))
		if f.Text = body; f.crlf > 0 {
			f.Text = bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n"))
		}
		f.lf = bytes.Count(body, []byte("\n")) - f.crlf
		return
	}
	f.Text = make([]byte, 0, len(f.data)/2)
	for at := f.mark; at < len(f.data); {
		r, n := f.character(at)
		if r == '\n' && n > 2 {
			f.crlf++
		} else if r == '\n' {
			f.lf++
		}
		f.Text, at = utf8.AppendRune(f.Text, r), at+n
	}
}

// character reads one character of UTF-16 and how many bytes it has; \r\n is one, \n. What is none is U+FFFD.
func (f *File) character(at int) (r rune, n int) {
	rest := f.data[at:]
	if len(rest) < 2 {
		return utf8.RuneError, len(rest)
	}
	r = rune(f.units.Uint16(rest))
	next := rune(-1)
	if len(rest) >= 4 {
		next = rune(f.units.Uint16(rest[2:]))
	}
	switch {
	case r == '\r' && next == '\n':
		return '\n', 4
	case !utf16.IsSurrogate(r):
		return r, 2
	}
	if r = utf16.DecodeRune(r, next); r == utf8.RuneError {
		return r, 2
	}
	return r, 4
}

// Plain reports whether Text is the file, byte for byte.
func (f *File) Plain() bool { return f.units == nil && f.mark == 0 && f.crlf == 0 }

// Form names what the file has beside its text, for a person; "" for plain text.
func (f *File) Form() string {
	var has []string
	if f.units != nil {
		has = append(has, "UTF-16")
	}
	if f.mark > 0 {
		has = append(has, "a byte order mark")
	}
	if f.mostCRLF() {
		has = append(has, "lines that end with CRLF")
	}
	return strings.Join(has, ", ")
}

func (f *File) mostCRLF() bool { return f.crlf > f.lf }

// Change is a part of Text and what comes in its place.
type Change struct {
	Start, End int
	Text       string
}

// Replace makes changes, which are in order and apart, and returns the file. All else of it stays byte for byte; new text has its
// encoding, and the line end that most of its lines have.
func (f *File) Replace(changes []Change) []byte {
	var out []byte
	done, p := 0, place{f: f, data: f.mark}
	for _, c := range changes {
		out = append(out, f.data[done:p.of(c.Start)]...)
		out, done = f.encode(out, c.Text), p.of(c.End)
	}
	return append(out, f.data[done:]...)
}

// Whole is a file of the same kind with another text. Where lines of the new text end with \r\n, its line ends stay.
func (f *File) Whole(text string) []byte {
	if f.mark > 0 {
		text = strings.TrimPrefix(text, string(byteOrderMark))
	}
	out := bytes.Clone(f.data[:f.mark])
	if strings.Contains(text, "\r\n") {
		return f.inUnits(out, text)
	}
	return f.encode(out, text)
}

func (f *File) encode(out []byte, text string) []byte {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if f.mostCRLF() {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return f.inUnits(out, text)
}

// inUnits appends a text in the encoding of the file.
func (f *File) inUnits(out []byte, text string) []byte {
	if f.units == nil {
		return append(out, text...)
	}
	for _, u := range utf16.Encode([]rune(text)) {
		var two [2]byte
		f.units.PutUint16(two[:], u)
		out = append(out, two[:]...)
	}
	return out
}

// place goes through the text and the file at once.
type place struct {
	f          *File
	text, data int
}

// of is where a place of the text is in the file. Later places are asked for later.
func (p *place) of(at int) int {
	if p.f.units == nil && p.f.crlf == 0 {
		return p.f.mark + at
	}
	for p.text < at {
		n := 1
		if p.f.units != nil {
			var r rune
			r, n = p.f.character(p.data)
			p.text += utf8.RuneLen(r)
		} else {
			if bytes.HasPrefix(p.f.data[p.data:], []byte("\r\n")) {
				n = 2
			}
			p.text++
		}
		p.data += n
	}
	return p.data
}
