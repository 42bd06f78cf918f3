// Package memjournal keeps a journal in memory: for exploration and tests, where nothing has to survive the process. It
// keeps the same contract as the stores on disk, and the same suite says so. It imports journal and canonical.
package memjournal
