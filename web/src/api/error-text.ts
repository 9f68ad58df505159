/** What an error of the server says to people: its message is English, its code is told in the language of the page before it. */
import { language, restOfTexts } from '../texts/texts.tsx'

let texts: Readonly<Record<string, string>> = {}

/** Resolves with the texts of codes there. An English page needs none, and the first load of no page has them. */
export async function readErrorTexts(): Promise<void> {
  if (language === 'en') return
  await restOfTexts()
  texts = await import('./error-texts.ts').then(
    (read) => read.texts,
    () => texts,
  )
}

/** The message for people: that of the server, after what its code says in the language of the page. */
export const errorText = (code: string | undefined, message: string): string =>
  code !== undefined && Object.hasOwn(texts, code) ? `${texts[code]} (${message})` : message
