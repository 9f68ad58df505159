/**
 * The operations of one socket by their ids. A client may use an id again as soon as it has unsubscribed, also while the
 * server still prepares or runs the operation before: graphql-ws, which knows only ids, would take the earlier operation for
 * the later one, send its results as answers to the new question and end the new one with it.
 */

/** One use of an id. */
export interface IdUse {
  /** False when the client has used the id again. */
  isCurrent(): boolean
  /** The operation is over. */
  end(): void
}

/** The uses of ids on one socket; as many are kept as operations run. */
export interface SocketIds {
  begin(id: string): IdUse
}

export function createSocketIds(): SocketIds {
  const current = new Map<string, IdUse>()
  return {
    begin(id) {
      const use: IdUse = {
        isCurrent: () => current.get(id) === use,
        end() {
          if (current.get(id) === use) current.delete(id)
        },
      }
      current.set(id, use)
      return use
    },
  }
}

/** What graphql-ws gets for an operation that is over for the client: it never touches the id again, and is forgotten. */
export function never(): Promise<never> {
  return new Promise(() => {})
}
