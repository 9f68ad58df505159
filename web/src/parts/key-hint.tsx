/** A key as it is written on a button. */
import { isMac } from './keys.ts'
import { t } from '../texts/texts.tsx'

const symbols: Record<string, string> = {
  Enter: '↵',
  Backspace: isMac ? '⌫' : t('Bksp'),
  Escape: t('Esc'),
}

export function KeyHint({ keys }: { keys: string }) {
  const parts = keys
    .split('+')
    .map((key) => (key === 'mod' ? (isMac ? '⌘' : t('Ctrl')) : (symbols[key] ?? key)))
  return <kbd aria-hidden="true">{parts.join(isMac ? '' : ' ')}</kbd>
}
