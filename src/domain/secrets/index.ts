/** The front door of secrets. */
export { seal, unseal } from './sealing.ts'
export {
  deleteSecret,
  fillSecrets,
  listSecrets,
  openSecrets,
  resealSecrets,
  secretNames,
  setSecret,
  type Secret,
} from './secrets.ts'
