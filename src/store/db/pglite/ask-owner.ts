/** Asks the process that uses the directory of the embedded database. */
import type { Socket } from 'node:net'
import { isJsonObject, type JsonObject, tryParseJson, writeJson } from '../../../core/json.ts'
import { UnusableDatabaseError } from '../storage-error.ts'
import { lockPathOf, ownerOf } from './directory-lock.ts'
import { connectToOwner } from './lock-owner.ts'
import { linesOf } from './serve-processes.ts'

/** A connection to the process that uses the directory; null when none does, or it cannot be reached from here. */
export async function reachOwner(directory: string): Promise<Socket | null> {
  const lock = lockPathOf(directory)
  const owner = await ownerOf(lock)
  return owner && connectToOwner(lock, owner)
}

/**
 * What the server on this directory answers. Throws UnusableDatabaseError when it cannot be reached, which is so for another
 * account of the system, or does not answer: then it is not known whether it did what was asked.
 */
export async function askOwner(directory: string, request: JsonObject): Promise<JsonObject> {
  const socket = await reachOwner(directory)
  if (!socket)
    throw new UnusableDatabaseError(
      'The process that uses the database cannot be reached from here. Run this on its machine and as its user, or stop it first.',
    )
  try {
    const next = linesOf(socket)
    socket.write(`${writeJson(request)}\n`)
    const answer = tryParseJson(await next())
    if (isJsonObject(answer)) return answer
    throw new UnusableDatabaseError(
      'The process that uses the database did not answer: it is starting or stopping, or is of another release. Look whether it has done this, and try again.',
    )
  } finally {
    socket.destroy()
  }
}
