/** A verdict counts only when its question has stood still for a moment: nobody approves what has just slid up. */
import { useEffect, useState } from 'react'

/** How long a question must stand, in milliseconds: a little longer than it takes to be read (`readMs`). */
export const armMs = 600

/** Whether what `key` names has stood on a visible page for the time; another key begins anew. */
export function useArmed(key: string): boolean {
  const [armed, setArmed] = useState<string | null>(null)
  useEffect(() => {
    let timer: number | undefined
    const begin = () => {
      clearTimeout(timer)
      if (document.visibilityState === 'visible') timer = window.setTimeout(() => setArmed(key), armMs)
      else setArmed(null)
    }
    begin()
    document.addEventListener('visibilitychange', begin)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', begin)
    }
  }, [key])
  return armed === key
}
