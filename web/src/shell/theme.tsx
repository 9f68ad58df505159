/** Light or dark, when it should not be what the system says. */
import { useState } from 'react'
import { Icon } from '../parts/icons.tsx'
import { t } from '../texts/texts.tsx'

const themes = ['system', 'light', 'dark'] as const
const words = { system: t('system'), light: t('light'), dark: t('dark') }

export function ThemeButton() {
  const [theme, setTheme] = useState<(typeof themes)[number]>('system')
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!
  const change = () => {
    setTheme(next)
    if (next === 'system') delete document.documentElement.dataset['theme']
    else document.documentElement.dataset['theme'] = next
  }
  return (
    <button
      type="button"
      className="quiet"
      title={t('Colours: {theme}', { theme: words[theme] })}
      aria-label={t('Colours: {theme}', { theme: words[theme] })}
      onClick={change}
    >
      <Icon name="sun" />
    </button>
  )
}
