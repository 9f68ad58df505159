/** Light or dark, when it should not be what the system says. */
import { createStore, useStore } from '../api/store.ts'
import { Icon } from '../parts/icons.tsx'
import { t } from '../texts/texts.tsx'

export const themes = ['system', 'light', 'dark'] as const
type Theme = (typeof themes)[number]
const words = { system: t('system'), light: t('light'), dark: t('dark') }

const chosen = createStore<Theme>('system')

export const themeText = (theme: Theme) => t('Colours: {theme}', { theme: words[theme] })

export function chooseTheme(theme: Theme): void {
  chosen.set(theme)
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}

export function ThemeButton() {
  const theme = useStore(chosen)
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!
  return (
    <button
      type="button"
      className="quiet"
      title={themeText(theme)}
      aria-label={themeText(theme)}
      onClick={() => chooseTheme(next)}
    >
      <Icon name="sun" />
    </button>
  )
}
