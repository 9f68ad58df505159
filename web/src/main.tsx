/** Starts the page. */
import './style/tokens.css'
import './style/base.css'
import { createRoot } from 'react-dom/client'
import { followProject } from './api/feed.ts'
import { readSession } from './api/session.ts'
import { App } from './app.tsx'
import { language } from './texts/texts.tsx'

// A page that stayed open over an update asks for parts that are gone: loading it again gets the new ones.
window.addEventListener('vite:preloadError', (event) => {
  const key = 'gatehouse-reloaded'
  if (history.state?.[key]) return
  event.preventDefault()
  history.replaceState({ ...history.state, [key]: true }, '')
  location.reload()
})

// Chromium and WebKit change the number under the pointer of whoever only scrolls on, where a page hears the wheel
// (whatwg/html#10911), as every page of React does.
window.addEventListener(
  'wheel',
  ({ target }) => {
    if (target instanceof HTMLInputElement && target.type === 'number') target.blur()
  },
  { capture: true, passive: true },
)

document.documentElement.lang = language
followProject()
void readSession()
createRoot(document.getElementById('root')!).render(<App />)
