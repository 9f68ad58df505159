/** The front door of secrets. */
export {
  deleteSecret,
  fillSecrets,
  listSecrets,
  openSecrets,
  secretNames,
  setSecret,
  type Secret,
} from './secrets.ts'
