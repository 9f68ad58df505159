/** Icons as strokes on a grid of 16; they inherit the colour of the text and are hidden from screen readers. */
const paths = {
  inbox: 'M2 9h3.5l1 2h3l1-2H14M2 9v4h12V9M2 9l2.2-6h7.6L14 9',
  runs: 'M2 4h6M2 8h12M6 12h8',
  agents: 'M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8ZM2.8 14a5.2 5.2 0 0 1 10.4 0',
  tools:
    'M10.5 2.2a3.5 3.5 0 0 0-3.3 4.7L2.5 11.6v1.9h1.9l4.7-4.7a3.5 3.5 0 0 0 4.4-4.5l-2 2-1.8-1.8 2-2a3.5 3.5 0 0 0-1.2-.3Z',
  settings: 'M3 4h10M3 8h10M3 12h10M6 2.8v2.4M10 6.8v2.4M5 10.8v2.4',
  insights: 'M2 13.5h12M4 11V7.5M8 11V3.5M12 11V6',
  check: 'M3 8.5 6.5 12 13 4.5',
  cross: 'M4 4l8 8M12 4l-8 8',
  pencil: 'M3 13l.6-2.8 7-7 2.2 2.2-7 7L3 13Z',
  warn: 'M8 2.5 14.5 13.5h-13ZM8 6.5v3.2M8 11.4v.3',
  bell: 'M4 11V7a4 4 0 0 1 8 0v4l1 1.5H3ZM6.8 14h2.4',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.6 10.6 14 14',
  copy: 'M5.5 5.5h8v8h-8ZM10.5 5.5v-3h-8v8h3',
  chevron: 'M6 3.5 10.5 8 6 12.5',
  back: 'M10 3.5 5.5 8l4.5 4.5',
  play: 'M4.5 3v10l8-5Z',
  pause: 'M5.5 3v10M10.5 3v10',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.8V8l2.2 1.6',
  plus: 'M8 3v10M3 8h10',
  leave: 'M9.5 3H3v10h6.5M6.5 8H14M11.5 5.5 14 8l-2.5 2.5',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1.5V3M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  link: 'M6.5 9.5 9.5 6.5M7 4.5l1.2-1.2a2.9 2.9 0 0 1 4.1 4.1L11.1 8.6M9 11.5l-1.2 1.2a2.9 2.9 0 0 1-4.1-4.1l1.2-1.2',
} as const

export type IconName = keyof typeof paths

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}
