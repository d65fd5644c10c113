package ci

import (
	"path"
	"slices"
	"strings"
)

// quiet is a command without flags that change what it prints alone.
func quiet(list []string) []string {
	out, program := []string{list[0]}, path.Base(list[0])
	var flags []string
	for section, loud := range phrases() {
		if programs, is := strings.CutPrefix(section, "loud "); is && slices.Contains(strings.Fields(programs), program) {
			flags = loud
		}
	}
	for i := 1; i < len(list); i++ {
		n := slices.IndexFunc(flags, func(flag string) bool {
			name := strings.TrimRight(flag, "*+")
			begins := strings.HasSuffix(flag, "*") && strings.HasPrefix(list[i], name)
			return begins || list[i] == name || strings.HasPrefix(list[i], name+"=")
		})
		switch {
		case n < 0:
			out = append(out, list[i])
		case strings.HasSuffix(flags[n], "+") && list[i] == strings.TrimSuffix(flags[n], "+"):
			i++
		}
	}
	return out
}

// within reports whether a command finds all that another one would.
func (l leaf) within(wide leaf) bool {
	if l.dir != wide.dir {
		return false
	}
	if slices.Equal(l.words, wide.words) {
		return true
	}
	switch last := len(wide.words) - 1; {
	case l.words[0] == "cargo" && wide.words[0] == "cargo": // detected gates test the whole workspace
		all := func(list []string) []string {
			return slices.DeleteFunc(slices.Clone(list), func(w string) bool { return w == "--workspace" || w == "--all" })
		}
		return len(all(wide.words)) <= last && slices.Equal(all(l.words), all(wide.words))
	case l.words[0] == "go" && wide.words[last] == "./..." && len(l.words) >= last: // packages below those of the other one
		return slices.Equal(l.words[:last], wide.words[:last]) && !slices.ContainsFunc(l.words[last:], func(w string) bool {
			return w != "." && !strings.HasPrefix(w, "./")
		})
	}
	return false
}

// kindsOf are globs of the files that some commands read, where all of them are known to read some kinds alone.
func kindsOf(leaves []leaf) (globs []string) {
	for _, l := range leaves {
		glob := l.reads()
		if glob == "" {
			return nil
		}
		globs = append(globs, glob)
	}
	slices.Sort(globs)
	return slices.Compact(globs)
}

// maxPhrase is more words than any phrase has.
const maxPhrase = 6

// reads is the glob of the files that a command reads, "" for all. What a script runs is the first of its words that is known.
func (l leaf) reads() string {
	list := l.words
	for len(list) > 1 && assignment.MatchString(list[0]) {
		list = list[1:]
	}
	inside := len(list) == 1 || strings.Contains(strings.Join(list, " "), "$(")
	if inside {
		list = strings.FieldsFunc(strings.Join(list, " "), func(r rune) bool { return strings.ContainsRune(" ()\"'`", r) })
	}
	for i := range list {
		for section := range phrases() {
			from := strings.Join(list[i:min(len(list), i+maxPhrase)], " ")
			if glob, is := strings.CutPrefix(section, "reads "); is && begins(from, section) {
				return glob
			}
		}
		if !inside {
			break
		}
	}
	return ""
}
