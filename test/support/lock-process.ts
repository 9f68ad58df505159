/**
 * A process that locks the directory that it is given when it is told to, or at once where nobody can tell it; says whether it got
 * the lock, and holds it until it is told to end, or killed.
 */
import { once } from 'node:events'
import { lockDirectory } from '../../src/store/db/pglite/directory-lock.ts'

const directory = process.argv[2]!
const told = () => once(process, 'message')

if (process.send) {
  const go = told()
  process.send('ready')
  await go
}
const said = await lockDirectory(directory).then(
  () => 'got it',
  (error: Error) => error.name,
)
if (process.send) {
  process.send(said)
  await told()
  process.exit()
}
console.log(said)
if (said !== 'got it') process.exit(1)
setInterval(() => {}, 1000)
