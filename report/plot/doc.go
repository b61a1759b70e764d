// Package plot draws charts as text: as SVG for pages, without scripts, fonts or
// anything from a network, and with labels that a screen reader can read; and with
// plain characters for terminals. Colours of SVG come from the style sheet (Style) of
// the page that a chart is put into, so that they follow light and dark; terminals
// need none.
//
// It computes nothing of what it draws and writes no page around it.
package plot
