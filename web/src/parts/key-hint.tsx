/** A key as it is written on a button. */
import { isMac } from './keys.ts'

const symbols: Record<string, string> = {
  Enter: '↵',
  Backspace: isMac ? '⌫' : 'Bksp',
  Escape: 'Esc',
}

export function KeyHint({ keys }: { keys: string }) {
  const parts = keys.split('+').map((key) => (key === 'mod' ? (isMac ? '⌘' : 'Ctrl') : (symbols[key] ?? key)))
  return <kbd aria-hidden="true">{parts.join(isMac ? '' : ' ')}</kbd>
}
