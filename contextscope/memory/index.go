package memory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite" // the driver "sqlite"; no cgo
)

// index is the derived search index: what it holds can be made from the notes' files at any time. One connection serves it,
// so that an index in memory is one index.
type index struct{ db *sql.DB }

// schemaVersion changes with the schema, with how text is split into words, and with nothing else.
const schemaVersion = 2

// The words table keeps no text of its own: text is stored as it was read, words as eachWord makes them. A row of it is deleted
// by saying what it was made of, so that the statistics are those of an index that never had it. Its tokenizer only splits at
// spaces: to it, every character beyond ASCII is part of a word.
const schema = `
DROP TABLE IF EXISTS vocabulary; DROP TABLE IF EXISTS words; DROP TABLE IF EXISTS notes; DROP TABLE IF EXISTS vectors; -- of version 1
CREATE TABLE notes(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
	digest BLOB NOT NULL, raw BLOB NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(title, tags, paths, text, content='', tokenize='ascii');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row');
PRAGMA user_version = %d;`

// openIndex opens the index in a file and makes it where there is none. A file that is no index, or a broken one, is deleted
// and made anew. Where the file cannot be used at all the index is kept in memory, and the problem says why.
func openIndex(ctx context.Context, file string) (*index, *Problem, error) {
	if file == "" {
		ix, err := connect(ctx, "")
		return ix, nil, err
	}
	ix, err := connect(ctx, file)
	if broken(err) {
		removeIndex(file)
		ix, err = connect(ctx, file)
	}
	if err == nil || ctx.Err() != nil {
		return ix, nil, err
	}
	p := &Problem{File: file, Message: "the search index cannot be kept there, it is made anew in memory: " + err.Error()}
	ix, err = connect(ctx, "")
	return ix, p, err
}

func connect(ctx context.Context, file string) (*index, error) {
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

// The primary result codes of SQLite that say that the file itself is at fault. Our statements are fixed, so that a plain
// error means tables that are not as they were made; an I/O error, that the file ends too soon.
const (
	codeError   = 1
	codeIO      = 10
	codeCorrupt = 11
	codeNotADB  = 26
)

// errDamaged says that something is not in the index as it was put there.
var errDamaged = errors.New("what the index holds is damaged")

// broken reports whether an error means that the index should be made anew.
func broken(err error) bool {
	var fault *sqlite.Error
	if !errors.As(err, &fault) {
		return errors.Is(err, errDamaged)
	}
	switch fault.Code() & 0xff {
	case codeError, codeIO, codeCorrupt, codeNotADB:
		return true
	default:
		return false
	}
}

// damaged makes of an error about a value that is not what was stored, one that says so. What SQLite itself says stays.
func damaged(err error) error {
	if errors.As(err, new(*sqlite.Error)) {
		return err
	}
	return fmt.Errorf("%w: %w", errDamaged, err)
}

// removeIndex deletes an index and the journal that belongs to it. Another process that still has it open goes on with what
// it has.
func removeIndex(file string) {
	for _, name := range []string{file + "-journal", file} {
		_ = os.RemoveAll(name) // what is left makes the next attempt fail, which is told
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
			return nil, damaged(err)
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// known returns what the index holds, by name.
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
	raw  []byte
}

// stored reads a note that the index holds.
func stored(name string, raw, digest []byte) (Note, error) {
	if !bytes.Equal(digestOf(raw), digest) {
		return Note{}, fmt.Errorf("%w: %q", errDamaged, name)
	}
	return Parse(name, raw)
}

func digestOf(raw []byte) []byte {
	sum := sha256.Sum256(raw)
	return sum[:]
}

// update brings the index up to date in one transaction: gone are removed, and changed put in the place of what had their
// names.
func (ix *index) update(ctx context.Context, gone []string, changed []entry) error {
	if len(gone) == 0 && len(changed) == 0 {
		return nil
	}
	return ix.write(ctx, func(tx *sql.Tx) error {
		find, err := tx.PrepareContext(ctx, "SELECT id, raw, digest FROM notes WHERE name = ?")
		if err != nil {
			return err
		}
		defer func() { _ = find.Close() }()
		for _, name := range gone {
			if err := forget(ctx, tx, find, name); err != nil {
				return err
			}
		}
		note, err := tx.PrepareContext(ctx, "INSERT INTO notes(name, size, mtime, digest, raw) VALUES(?, ?, ?, ?, ?)")
		if err != nil {
			return err
		}
		defer func() { _ = note.Close() }()
		words, err := tx.PrepareContext(ctx, "INSERT INTO words(rowid, title, tags, paths, text) VALUES(?, ?, ?, ?, ?)")
		if err != nil {
			return err
		}
		defer func() { _ = words.Close() }()
		for _, e := range changed {
			if err := forget(ctx, tx, find, e.name); err != nil {
				return err
			}
			if err := insert(ctx, note, words, e); err != nil {
				return err
			}
		}
		return nil
	})
}

func insert(ctx context.Context, note, words *sql.Stmt, e entry) error {
	in, err := note.ExecContext(ctx, e.name, e.size, e.mtime, digestOf(e.raw), e.raw)
	if err != nil {
		return err
	}
	id, err := in.LastInsertId()
	if err != nil {
		return err
	}
	_, err = words.ExecContext(ctx, rowOf(id, e.note)...)
	return err
}

// rowOf is what the words table is told of a note.
func rowOf(id int64, n Note) []any {
	return []any{id, forIndex(n.Title), forIndex(n.Tags...), forIndex(n.Paths...), forIndex(n.Text)}
}

// forget removes a note that the index may have; find is the statement that reads it.
func forget(ctx context.Context, tx *sql.Tx, find *sql.Stmt, name string) error {
	var id int64
	var raw []byte
	var digest []byte
	err := find.QueryRowContext(ctx, name).Scan(&id, &raw, &digest)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return damaged(err)
	}
	n, err := stored(name, raw, digest)
	if err != nil {
		return damaged(err)
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO words(words, rowid, title, tags, paths, text) VALUES('delete', ?, ?, ?, ?, ?)",
		rowOf(id, n)...)
	if err == nil {
		_, err = tx.ExecContext(ctx, "DELETE FROM notes WHERE id = ?", id)
	}
	return err
}

// ranked is one note that holds some of the words of a query.
type ranked struct {
	name  string
	score float64
}

// search ranks the notes that hold at least one of the words by bm25: a word in the title counts eight times, in the tags
// four times, in the paths twice. Equal scores are in the order of the names.
func (ix *index) search(ctx context.Context, words []string, limit int) ([]ranked, error) {
	words, err := ix.rarest(ctx, words)
	if err != nil || len(words) == 0 {
		return nil, err
	}
	// The words are data. They hold letters and digits alone, and quotes keep AND, NEAR and the like from being operators.
	match := `"` + strings.Join(words, `" OR "`) + `"`
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
		err = rows.Scan(&r.name, &r.score)
		return r, err
	}, `SELECT notes.name, score FROM notes JOIN (SELECT rowid AS id, -bm25(words, 8.0, 4.0, 2.0, 1.0) AS score FROM words
		WHERE words MATCH ? ORDER BY score DESC LIMIT ?) USING(id) ORDER BY score DESC, notes.name`, match, limit)
}

// maxRanked is how many words of a query decide: ranking takes time that is quadratic in them.
const maxRanked = 12

// rarest cuts a long query to the words that are in the fewest notes, because they tell notes apart.
func (ix *index) rarest(ctx context.Context, words []string) ([]string, error) {
	if len(words) <= maxRanked {
		return words, nil
	}
	return collect(ctx, ix, func(rows *sql.Rows) (word string, err error) {
		err = rows.Scan(&word)
		return word, err
	}, "SELECT term FROM vocabulary WHERE "+oneOf("term", words)+" ORDER BY doc, term LIMIT ?",
		append(values(words), maxRanked)...)
}

func oneOf(column string, list []string) string {
	return column + " IN (?" + strings.Repeat(", ?", len(list)-1) + ")"
}

func values(list []string) []any {
	all := make([]any, len(list))
	for i, s := range list {
		all[i] = s
	}
	return all
}

// notes returns the named notes, or all of them, in the order of their names.
func (ix *index) notes(ctx context.Context, names ...string) ([]Note, error) {
	query := "SELECT name, raw, digest FROM notes"
	if len(names) > 0 {
		query += " WHERE " + oneOf("name", names)
	}
	return collect(ctx, ix, func(rows *sql.Rows) (Note, error) {
		var name string
		var raw, digest []byte
		if err := rows.Scan(&name, &raw, &digest); err != nil {
			return Note{}, err
		}
		return stored(name, raw, digest)
	}, query+" ORDER BY name", values(names)...)
}
