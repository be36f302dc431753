export { PasswordHasher } from './password-hasher.js';
