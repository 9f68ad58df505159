/** Who is signed in, for screens that offer only what this person may do. The server decides all the same. */
import { useMemo } from 'react'
import { graphql } from './document.ts'
import { useQuery } from './query.ts'

const viewerQuery = graphql(`
  query ViewerRights {
    viewer {
      id
      name
      operator
      permissions {
        action
        everywhere
      }
    }
  }
`)

export interface Viewer {
  id: string
  name: string
  isOperator: boolean
  may(action: string): boolean
  /** Whether no policy keeps it from some. */
  mayEverywhere(action: string): boolean
}

/** The person that is signed in; null until that is known. */
export function useViewer(): Viewer | null {
  const viewer = useQuery(viewerQuery, {}).data?.viewer
  return useMemo(() => {
    if (!viewer) return null
    const actions = new Set(viewer.permissions.map(({ action }) => action))
    const everywhere = new Set(viewer.permissions.flatMap((one) => (one.everywhere ? one.action : [])))
    const { id, name, operator: isOperator } = viewer
    return {
      id,
      name,
      isOperator,
      may: (action) => actions.has(action),
      mayEverywhere: (action) => everywhere.has(action),
    }
  }, [viewer])
}
