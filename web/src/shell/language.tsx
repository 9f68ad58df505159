/** The language of this tab, when it should not be that of the browser. */
import { chooseLanguage, language, languages, t, type Language } from '../texts/texts.tsx'

const codes = Object.keys(languages) as Language[]

export function LanguageButton() {
  const next = codes[(codes.indexOf(language) + 1) % codes.length]!
  const label = t('Language: {name}', { name: languages[language] })
  return (
    <button type="button" className="quiet" title={label} onClick={() => chooseLanguage(next)}>
      {language.toUpperCase()}
      <span className="sr-only">, {label}</span>
    </button>
  )
}
