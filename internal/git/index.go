package git

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
)

// SharedIndex begins the name of a part of an index that later ones share; its id ends it.
const SharedIndex = "sharedindex."

// wholeIndex reads an index of git as one without a shared part, which lies in dir. Other programs than git, such as all that use
// libgit2, read no index that has one. size is that of an id, in bytes.
func wholeIndex(file, dir string, size int) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	top, err := parseIndex(data, size)
	if err != nil || top.link == nil {
		return data, err
	}
	if data, err = os.ReadFile(filepath.Join(dir, SharedIndex+hex.EncodeToString(top.link[:size]))); err != nil {
		return nil, err
	}
	base, err := parseIndex(data, size)
	if err == nil {
		base.entries, err = top.over(base.entries, size)
	}
	if err != nil {
		return nil, err
	}
	return base.format(top.tree, size), nil
}

// index is the content of an index file: its entries, the trees that are known to be in it, and what it has of a shared part.
type index struct {
	entries    []indexEntry
	tree, link []byte
}

// indexEntry is a file in an index. Numbers of its state, its id and its flags come before its name.
type indexEntry struct{ head, name []byte }

// What git's documentation calls the format of an index.
const (
	indexStat     = 40     // bytes before the id
	indexExtended = 0x4000 // the flag of two more bytes of flags
	indexLength   = 0xfff  // the flags that are the length of the name, or all of them for longer names
)

var errIndex = errors.New("the index is not understood")

func parseIndex(data []byte, size int) (x index, err error) {
	if len(data) < 12+size || string(data[:4]) != "DIRC" || binary.BigEndian.Uint32(data[4:])&^1 != 2 {
		return x, fmt.Errorf("version %x: %w", data[:min(len(data), 8)], errIndex)
	}
	rest := data[12 : len(data)-size]
	x.entries = make([]indexEntry, min(int(binary.BigEndian.Uint32(data[8:])), len(rest)))
	for i := range x.entries {
		at := indexStat + size + 2
		if len(rest) > at && binary.BigEndian.Uint16(rest[at-2:])&indexExtended != 0 {
			at += 2
		}
		length := bytes.IndexByte(rest[min(at, len(rest)):], 0)
		end := (at + length + 8) &^ 7
		if length < 0 || end > len(rest) {
			return x, fmt.Errorf("entry %d: %w", i, errIndex)
		}
		x.entries[i], rest = indexEntry{rest[:at:at], rest[at : at+length]}, rest[end:]
	}
	for len(rest) >= 8 {
		name, length := string(rest[:4]), int(binary.BigEndian.Uint32(rest[4:]))
		if len(rest) < 8+length || name == "link" && length < size {
			return x, fmt.Errorf("extension %q: %w", name, errIndex)
		}
		switch name {
		case "link":
			x.link = rest[8 : 8+length]
		case "TREE":
			x.tree = rest[8 : 8+length]
		}
		rest = rest[8+length:]
	}
	return x, nil
}

// over lays an index over the shared part: what it deletes of it, what it replaces, in order and without names, and what it adds.
func (x index) over(base []indexEntry, size int) (entries []indexEntry, err error) {
	deleted, rest, err := setBits(x.link[size:], len(base))
	if err != nil {
		return nil, err
	}
	replaced, _, err := setBits(rest, len(base))
	if err != nil || len(replaced) > len(x.entries) {
		return nil, cmp.Or(err, errIndex)
	}
	for i, at := range replaced {
		base[at].head = x.entries[i].head
	}
	added := x.entries[len(replaced):]
	entries = make([]indexEntry, 0, len(base)+len(added))
	for i, e := range base {
		for len(added) > 0 && added[0].compare(e) < 0 {
			entries, added = append(entries, added[0]), added[1:]
		}
		switch {
		case len(deleted) > 0 && deleted[0] == i:
			deleted = deleted[1:]
		case len(added) > 0 && added[0].compare(e) == 0: // it comes next
		default:
			entries = append(entries, e)
		}
	}
	return append(entries, added...), nil
}

func (e indexEntry) flags(size int) uint16 { return binary.BigEndian.Uint16(e.head[indexStat+size:]) }

// compare orders entries by their names; of one name there is one entry in a tree without conflicts.
func (e indexEntry) compare(other indexEntry) int { return bytes.Compare(e.name, other.name) }

// setBits reads a compressed bitmap, whose bits are below most, and returns those that are set and what follows it.
func setBits(data []byte, most int) (set []int, rest []byte, err error) {
	if len(data) == 0 {
		return nil, nil, nil
	}
	if len(data) < 12 || len(data) < 12+8*int(binary.BigEndian.Uint32(data[4:])) {
		return nil, nil, errIndex
	}
	words := data[8 : 8+8*int(binary.BigEndian.Uint32(data[4:]))]
	rest = data[len(words)+12:]
	for at := 0; len(words) > 0; {
		word := binary.BigEndian.Uint64(words)
		run, literals := int(word>>1&0xffffffff)*64, int(word>>33)
		words = words[8:]
		if word&1 != 0 {
			for i := at; i < min(at+run, most); i++ {
				set = append(set, i)
			}
		}
		at += run
		if len(words) < 8*literals {
			return nil, nil, errIndex
		}
		for range literals {
			for word := binary.BigEndian.Uint64(words); word != 0; word &= word - 1 {
				set = append(set, at+bits.TrailingZeros64(word))
			}
			at, words = at+64, words[8:]
		}
	}
	if len(set) > 0 && set[len(set)-1] >= most {
		return nil, nil, errIndex
	}
	return set, rest, nil
}

// format writes an index as git does.
func (x index) format(tree []byte, size int) []byte {
	version, length := uint32(2), len(tree)+128
	for _, e := range x.entries {
		length += len(e.head) + len(e.name) + 8
	}
	if slices.ContainsFunc(x.entries, func(e indexEntry) bool { return e.flags(size)&indexExtended != 0 }) {
		version = 3
	}
	out := binary.BigEndian.AppendUint32(append(make([]byte, 0, length), "DIRC"...), version)
	out = binary.BigEndian.AppendUint32(out, uint32(len(x.entries)))
	for _, e := range x.entries {
		begin := len(out)
		out = append(out, e.head...)
		flags := e.flags(size)&^indexLength | uint16(min(len(e.name), indexLength))
		binary.BigEndian.PutUint16(out[begin+indexStat+size:], flags)
		out = append(out, e.name...)
		out = append(out, make([]byte, 8-(len(out)-begin)%8)...)
	}
	if tree != nil {
		out = binary.BigEndian.AppendUint32(append(out, "TREE"...), uint32(len(tree)))
		out = append(out, tree...)
	}
	return append(out, digest(2*size, out)...)
}
