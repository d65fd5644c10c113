// Package detect proposes how to work on a repository from its tracked files: the gates that prove a change, the setup without
// which they cannot run, what setup leaves in ignored paths, what is made from tracked sources, and services. Its input is the
// list of files, the content of a few and the programs that are installed; all of it is data of others, and what cannot be
// understood proposes nothing. It runs no program. Advise reads the receipts of gates on the base commit and names what they show
// to be missing.
package detect
