package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite" // the driver "sqlite"; no cgo
)

// index is the derived search index. It holds the terms of the notes, not their text, and is rebuilt from the files whenever it
// cannot be used. One connection serves it, so that an index in memory is one index.
type index struct{ db *sql.DB }

// schemaVersion changes with the schema, with how text is split into terms, and with nothing else.
const schemaVersion = 3

const schema = `
DROP TABLE IF EXISTS vocabulary; DROP TABLE IF EXISTS words; DROP TABLE IF EXISTS notes; DROP TABLE IF EXISTS vectors;
CREATE TABLE notes(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, mtime INTEGER NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(title, tags, paths, text, tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row');
PRAGMA user_version = %d;`

// ownSchema is each connection's own: what a query asks for, stemmed as notes are.
const ownSchema = `
CREATE VIRTUAL TABLE temp.asked USING fts5(term, tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE temp.stems USING fts5vocab(temp, asked, 'instance');`

// openIndex opens the index in a file and makes it where there is none; without a file the index is in memory.
func openIndex(ctx context.Context, file string) (*index, error) {
	name := ":memory:"
	if file != "" {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, fmt.Errorf("make the directory of the index: %w", err)
		}
		name = (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(file)}).String()
	}
	const waits = "?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=synchronous(NORMAL)&_pragma=temp_store(MEMORY)"
	db, err := sql.Open("sqlite", name+waits)
	if err != nil {
		return nil, fmt.Errorf("open the index: %w", err)
	}
	db.SetMaxOpenConns(1)
	ix := &index{db}
	if err := ix.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare the index: %w", err), db.Close())
	}
	return ix, nil
}

// prepare makes the tables, unless they are there in this version.
func (ix *index) prepare(ctx context.Context) error {
	if _, err := ix.db.ExecContext(ctx, ownSchema); err != nil {
		return err
	}
	if have, err := version(ctx, ix.db); err != nil || have == schemaVersion {
		return err
	}
	return ix.write(ctx, func(tx *sql.Tx) error {
		if have, err := version(ctx, tx); err != nil || have == schemaVersion { // another process was first
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf(schema, schemaVersion))
		return err
	})
}

func version(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
},
) (have int, err error) {
	err = q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have)
	return have, err
}

// write runs changes as one transaction, which waits for other processes first.
func (ix *index) write(ctx context.Context, change func(*sql.Tx) error) error {
	tx, err := ix.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := change(tx); err != nil {
		_ = tx.Rollback() // the change's error says more
		return err
	}
	return tx.Commit()
}

func (ix *index) close() error { return ix.db.Close() }

// The primary result codes of SQLite with which a sound file can fail: it is locked, or cannot be written or opened.
const (
	codePerm     = 3
	codeBusy     = 5
	codeLocked   = 6
	codeReadOnly = 8
	codeFull     = 13
	codeCantOpen = 14
)

// sound reports whether the index's file may be good although an operation failed.
func sound(err error) bool {
	var fault *sqlite.Error
	if !errors.As(err, &fault) {
		return false
	}
	switch fault.Code() & 0xff {
	case codePerm, codeBusy, codeLocked, codeReadOnly, codeFull, codeCantOpen:
		return true
	default:
		return false
	}
}

// removeIndex deletes an index and its journal. Another process that has it open continues with what it has.
func removeIndex(file string) {
	for _, name := range []string{file + "-journal", file} {
		_ = os.RemoveAll(name) // what is left makes the next attempt fail, which is reported
	}
}

// collect returns what scan makes of each row of a query.
func collect[T any](ctx context.Context, ix *index, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := ix.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []T
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// known returns the files that the index holds, by name.
func (ix *index) known(ctx context.Context) (map[string]file, error) {
	all, err := collect(ctx, ix, func(rows *sql.Rows) (f file, err error) {
		err = rows.Scan(&f.name, &f.size, &f.mtime)
		return f, err
	}, "SELECT name, size, mtime FROM notes")
	byName := make(map[string]file, len(all))
	for _, f := range all {
		byName[f.name] = f
	}
	return byName, err
}

// entry is one note on its way into the index.
type entry struct {
	file
	note Note
}

// update brings the index up to date in one transaction: the gone are removed, and the changed replace what had their names.
func (ix *index) update(ctx context.Context, gone []string, changed []entry) error {
	if len(gone) == 0 && len(changed) == 0 {
		return nil
	}
	for _, e := range changed {
		gone = append(gone, e.name)
	}
	list, err := json.Marshal(gone)
	if err != nil {
		return err
	}
	return ix.write(ctx, func(tx *sql.Tx) error {
		const old = "SELECT id FROM notes WHERE name IN (SELECT value FROM json_each(?))"
		for _, remove := range []string{"DELETE FROM words WHERE rowid IN (", "DELETE FROM notes WHERE id IN ("} {
			if _, err := tx.ExecContext(ctx, remove+old+")", string(list)); err != nil {
				return err
			}
		}
		return insert(ctx, tx, changed)
	})
}

func insert(ctx context.Context, tx *sql.Tx, entries []entry) error {
	words, err := tx.PrepareContext(ctx, "INSERT INTO words(rowid, title, tags, paths, text) VALUES(?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	defer func() { _ = words.Close() }()
	for _, e := range entries {
		in, err := tx.ExecContext(ctx, "INSERT INTO notes(name, size, mtime) VALUES(?, ?, ?)", e.name, e.size, e.mtime)
		if err != nil {
			return err
		}
		id, err := in.LastInsertId()
		if err != nil {
			return err
		}
		tags, paths := strings.Join(e.note.Tags, " "), strings.Join(e.note.Paths, " ")
		_, err = words.ExecContext(ctx, id, forIndex(e.note.Title), forIndex(tags), forIndex(paths), forIndex(e.note.Text))
		if err != nil {
			return err
		}
	}
	return nil
}

// ranked is one note that holds some of the terms of a query.
type ranked struct {
	id    int64
	name  string
	score float64
}

// phrases are terms as FTS5 reads them. Terms are letters, digits and spaces, and quotes keep AND, NEAR and the like from being
// operators.
func phrases(terms []string) []string {
	all := make([]string, len(terms))
	for i, t := range terms {
		all[i] = `"` + t + `"`
	}
	return all
}

// maxDeciding is how many terms of a query decide: ranking takes time that is quadratic in them.
const maxDeciding = 12

// deciding returns the query of the terms that are in the fewest notes, because they tell notes apart; empty when no note has
// any of them. How a term is stemmed only SQLite knows: the terms pass through a table of their own.
func (ix *index) deciding(ctx context.Context, terms []string) (string, error) {
	if len(terms) <= maxDeciding {
		return strings.Join(phrases(terms), " OR "), nil
	}
	list, err := json.Marshal(phrases(terms))
	if err != nil {
		return "", err
	}
	if _, err := ix.db.ExecContext(ctx, "DELETE FROM temp.asked"); err != nil {
		return "", err
	}
	const ask = "INSERT INTO temp.asked(term) SELECT value FROM json_each(?)"
	if _, err := ix.db.ExecContext(ctx, ask, string(list)); err != nil {
		return "", err
	}
	rarest, err := collect(ctx, ix, func(rows *sql.Rows) (term string, err error) {
		err = rows.Scan(&term)
		return term, err
	}, `SELECT asked.term FROM temp.stems JOIN temp.asked ON asked.rowid = stems.doc
		JOIN vocabulary ON vocabulary.term = stems.term
		GROUP BY asked.rowid ORDER BY min(vocabulary.doc), asked.term LIMIT ?`, maxDeciding)
	return strings.Join(rarest, " OR "), err
}

// search ranks the notes that match by bm25: a word in the title counts eight times, in the tags four times, in the paths
// twice. Equal scores are in the order of the names.
func (ix *index) search(ctx context.Context, match string, limit int) ([]ranked, error) {
	// To look up every name only to break ties takes a third of the time: it is done where the last place is shared.
	found, err := ix.rank(ctx, match, limit+1)
	if err == nil && len(found) > limit && found[limit-1].score == found[limit].score {
		found, err = ix.rank(ctx, match, maxNotes)
	}
	return found[:min(limit, len(found))], err
}

// rank returns the best so many in order; those of the last score may be any that have it.
func (ix *index) rank(ctx context.Context, match string, limit int) ([]ranked, error) {
	return collect(ctx, ix, func(rows *sql.Rows) (r ranked, err error) {
		err = rows.Scan(&r.id, &r.name, &r.score)
		return r, err
	}, `SELECT id, notes.name, score FROM notes JOIN (SELECT rowid AS id, -bm25(words, 8.0, 4.0, 2.0, 1.0) AS score FROM words
		WHERE words MATCH ? ORDER BY score DESC LIMIT ?) USING(id) ORDER BY score DESC, notes.name`, match, limit)
}

// The marks around a matching word.
const (
	markBegin = "\x01"
	markEnd   = "\x02"
)

// marked returns the terms of the notes' texts, line by line, with marks around those that match.
func (ix *index) marked(ctx context.Context, match string, found []ranked) (map[int64]string, error) {
	ids := make([]int64, len(found))
	for i, r := range found {
		ids[i] = r.id
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	texts := map[int64]string{}
	_, err = collect(ctx, ix, func(rows *sql.Rows) (id int64, err error) {
		var text string
		err = rows.Scan(&id, &text)
		texts[id] = text
		return id, err
	}, `SELECT rowid, highlight(words, 3, char(1), char(2)) FROM words
		WHERE words MATCH ? AND +rowid IN (SELECT value FROM json_each(?))`, match, string(list))
	return texts, err
}

// sharing returns those of the notes that hold at least so many of the terms.
func (ix *index) sharing(ctx context.Context, found []ranked, terms []string, least int) ([]ranked, error) {
	list, err := json.Marshal(phrases(terms))
	if err != nil {
		return nil, err
	}
	var out []ranked
	for _, r := range found {
		var held int
		err := ix.db.QueryRowContext(ctx, "SELECT count(*) FROM json_each(?) JOIN words ON words MATCH value AND words.rowid = ?",
			string(list), r.id).Scan(&held)
		if err != nil {
			return nil, err
		}
		if held >= least {
			out = append(out, r)
		}
	}
	return out, nil
}
