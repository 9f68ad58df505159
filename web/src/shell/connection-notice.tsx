/** Says that the page is not up to date, from when on, and that it is coming back by itself. */
import { useEffect, useState } from 'react'
import { connection } from '../api/socket.ts'
import { useStore } from '../api/store.ts'
import { t, locale } from '../texts/texts.tsx'

/** A connection that is back within this time was no loss worth a word, in milliseconds. */
const quietMs = 800

export function ConnectionNotice() {
  const { state, since } = useStore(connection)
  // The loss that has lasted long enough to be told, by when it began.
  const [told, setTold] = useState(0)
  useEffect(() => {
    if (state !== 'connecting') return
    const timer = setTimeout(() => setTold(since), quietMs)
    return () => clearTimeout(timer)
  }, [state, since])
  if (state !== 'connecting' || told !== since) return null
  return (
    <div className="notice warn" role="status">
      {t('Reconnecting … You see data from {time}; nothing is lost.', {
        time: new Date(since).toLocaleTimeString(locale),
      })}
    </div>
  )
}
