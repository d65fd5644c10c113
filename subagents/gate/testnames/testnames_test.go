package testnames

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// listOf reads tests of the group a, or of another one before a colon.
func listOf(names string) (l List) {
	for name := range strings.FieldsSeq(names) {
		group, test, ok := strings.Cut(name, ":")
		if !ok {
			group, test = "a", name
		}
		l = append(l, Test{group, test})
	}
	return l.And(nil)
}

func passed(names string) *Tests {
	t := &Tests{}
	for _, one := range listOf(names) {
		t.Pass(one.Group, one.Name)
	}
	return t
}

func TestWhatDidNotRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base, now string
		part      bool
		want      string
	}{
		"all ran":                                        {base: "A B", now: "A B C"},
		"one did not":                                    {base: "A B", now: "A", want: "B"},
		"nothing ran":                                    {base: "A B", want: "A B"},
		"another group has its name":                     {base: "A b:A", now: "b:A", want: "A"},
		"a part ran":                                     {base: "A b:B", now: "A", part: true},
		"a part lacks one":                               {base: "A C b:B", now: "A", part: true, want: "C"},
		"a part of what names no groups":                 {base: ":A :B", now: ":A", part: true},
		"a case is gone":                                 {base: "A A/x A/y", now: "A A/x", want: "A/y"},
		"a case has another name":                        {base: "A A/x A/y", now: "A A/x A/z"},
		"a test is gone with its cases":                  {base: "A A/x A/y", want: "A"},
		"cases without a test of their own":              {base: "a[1] a[2]", now: "a[1]", want: "a[2]"},
		"they have other names":                          {base: "a[1] a[2]", now: "a[3] a[4]"},
		"a test gets parameters":                         {base: "a b", now: "a[1] a[2] b"},
		"a test gets one parameter, and another is gone": {base: "a b", now: "a[1]", want: "b"},
		"cases of another test do not count":             {base: "A A/x", now: "A B B/x", want: "A/x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, listOf(c.want), passed(c.now).Missing(listOf(c.base), c.part).And(nil))
		})
	}
}

// A test that gets tests in it has their titles behind its own.
func TestATestGetsTests(t *testing.T) {
	t.Parallel()
	now := &Tests{}
	now.Pass("a", "sums > of two > x")
	require.Equal(t, List{{"a", "sum"}, {"b", "sums"}}, now.Missing(List{{"a", "sum"}, {"a", "sums"}, {"a", "sums > of two"}, {"b", "sums"}}, false))
}

func TestParent(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"TestA": "TestA", "TestA/x": "TestA", "TestA/x/y": "TestA", "adds()": "adds", "adds(int)[1]": "adds", "adds{int}[1]": "adds",
		"test_a[x y]": "test_a", "test_a (i=1)": "test_a", "Adds<int>": "Adds", "tests::adds": "tests::adds",
		"GET /users (all)": "GET /users (all)", "cart > adds [two]": "cart > adds [two]", "(x)": "(x)", "": "",
	} {
		require.Equal(t, want, Test{Name: name}.Parent(), name)
	}
}

func TestAGroupInWhichNoTestPassedHasRun(t *testing.T) {
	t.Parallel()
	now := passed("b:B")
	now.Seen("a")
	require.Equal(t, listOf("A"), now.Missing(listOf("A b:B"), true))
}

// Which tests of a program ran before it crashed is chance.
func TestAGroupThatWasCutDoesNotCount(t *testing.T) {
	t.Parallel()
	now := passed("A B b:C")
	now.Cut("a")
	require.Equal(t, listOf("b:C"), now.List())
	require.Equal(t, listOf("b:D"), now.Missing(listOf("A X b:C b:D"), false))
}

// A name of a hostile report cannot pass for another test.
func TestAGroupIsOneLine(t *testing.T) {
	t.Parallel()
	now := &Tests{}
	now.Pass("a\n\tTestForged\nb", "TestA")
	data, err := now.List().Encode()
	require.NoError(t, err)
	l, err := Decode(data)
	require.NoError(t, err)
	require.Equal(t, List{{"a TestForged b", "TestA"}}, l)
	require.Empty(t, now.Missing(l, false))
}

func TestLists(t *testing.T) {
	t.Parallel()
	a, b := listOf("A B b:C"), listOf("B b:C D")
	require.Equal(t, listOf("B b:C"), a.In(b))
	require.Equal(t, listOf("A"), a.Without(b))
	require.Equal(t, listOf("A B b:C D"), a.And(b))
	for _, l := range []List{nil, a, {{"", "x y"}, {"", "z"}, {"p", "x"}}} {
		data, err := l.Encode()
		require.NoError(t, err)
		again, err := Decode(data)
		require.NoError(t, err)
		require.Equal(t, l, again)
	}
	_, err := Decode([]byte("no list"))
	require.Error(t, err)
}

// store is a store in memory.
type store map[string][]byte

var errNone = errors.New("no such object")

func (s store) Put(_ context.Context, name string, data []byte) error {
	s[name] = data
	return nil
}

func (s store) Get(_ context.Context, name string) ([]byte, error) {
	if data, ok := s[name]; ok {
		return data, nil
	}
	return nil, errNone
}

// A test counts that passed in every run.
func TestLoad(t *testing.T) {
	t.Parallel()
	to := store{}
	var names []string
	for _, l := range []string{"A B C", "A C random-1", "A C random-2"} {
		name, err := Store(t.Context(), to, listOf(l))
		require.NoError(t, err)
		names = append(names, name)
	}
	all, err := Load(t.Context(), to, names...)
	require.NoError(t, err)
	require.Equal(t, listOf("A C"), all)
	none, err := Store(t.Context(), to, nil)
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = Load(t.Context(), to, "tests-other")
	require.ErrorIs(t, err, errNone)
}

// Beyond the bounds it is not known what ran: nothing is missing.
func TestMoreTestsThanAreKept(t *testing.T) {
	t.Parallel()
	now := &Tests{}
	for i := range 70 {
		now.Pass("a", fmt.Sprint(i, strings.Repeat("x", 1<<20)))
	}
	require.False(t, now.Known())
	require.Empty(t, now.List())
	require.Empty(t, now.Missing(listOf("A"), false))
}

func FuzzDecode(f *testing.F) {
	data, err := listOf("A b:B").Encode()
	require.NoError(f, err)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Decode(data)
		if err != nil {
			return
		}
		for _, one := range l {
			require.NotContains(t, one.Name, "\n")
		}
	})
}

// A program under test can print as many groups as it likes.
func TestGroupsAreBounded(t *testing.T) {
	t.Parallel()
	var tests Tests
	for i := range 2 * maxTests {
		tests.Pass(fmt.Sprint("group", i), "test")
	}
	require.False(t, tests.Known())
	require.LessOrEqual(t, len(tests.groups), maxTests+1)
}
