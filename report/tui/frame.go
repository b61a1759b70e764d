package tui

import (
	tea "github.com/charmbracelet/bubbletea"
)

// Frame is one picture of s on w by h cells, of the first screen of o.
func Frame(s Source, o Options, w, h int) (string, error) {
	var m tea.Model = New(s, o)
	m, _ = m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	msg := m.Init()()
	if r, ok := msg.(received); ok && r.err != nil {
		return "", r.err
	}
	m, _ = m.Update(msg)
	return m.View(), nil
}
