import { environment, serviceEnvironment } from '#bootstrap';

/** The variables of the standalone server. It includes PostgreSQL, and needs neither Redis nor RabbitMQ. */
export const standaloneEnvironment = environment
  .pick({
    GATEPOST_ACCEPTED_SECRETS: true,
    GATEPOST_APP_ID: true,
    GATEPOST_APP_KEY: true,
    GATEPOST_BASE_URL: true,
    GATEPOST_BODY_LIMIT_BYTES: true,
    GATEPOST_DATABASE_POOL: true,
    GATEPOST_DATA_DIR: true,
    GATEPOST_FORWARD_LIMIT_BYTES: true,
    GATEPOST_INTERNAL_NETWORKS: true,
    GATEPOST_MAIL_FROM: true,
    GATEPOST_MASTER_KEY: true,
    GATEPOST_PASSWORD_COST: true,
    GATEPOST_PASSWORD_QUEUE_LIMIT: true,
    GATEPOST_PLATFORM_URLS: true,
    GATEPOST_PUSH_CONNECTIONS: true,
    GATEPOST_PUSH_PING_SECONDS: true,
    GATEPOST_PUSH_QUEUE_LIMIT: true,
    GATEPOST_PUSH_RECONNECT_SECONDS: true,
    GATEPOST_PUSH_URL: true,
    GATEPOST_PUSH_URL_SECONDARY: true,
    GATEPOST_PUSH_VENDOR_CONNECTIONS: true,
    GATEPOST_PUSH_VENDOR_URLS: true,
    GATEPOST_PUSH_VENDOR_WINDOW: true,
    GATEPOST_RATE_LIMIT_DEVICE_LOGINS: true,
    GATEPOST_RATE_LIMIT_FAILED_CREDENTIALS: true,
    GATEPOST_RATE_LIMIT_LOGINS: true,
    GATEPOST_RATE_LIMIT_MAILS: true,
    GATEPOST_RATE_LIMIT_MESSAGES: true,
    GATEPOST_RATE_LIMIT_REQUESTS: true,
    GATEPOST_RATE_LIMIT_SIGN_UPS: true,
    GATEPOST_RESET_LINK_SECONDS: true,
    GATEPOST_SECRET: true,
    GATEPOST_SMTP_CONNECTIONS: true,
    GATEPOST_TRUSTED_PROXIES: true,
    GATEPOST_TWILIO_URL: true,
    GATEPOST_VERIFICATION_LINK_SECONDS: true,
    NODE_ENV: true,
    SMTP_URL: true,
  })
  .extend(serviceEnvironment.shape)
  // A developer reads this console: the welcome text reports success, the log only problems.
  .extend({ GATEPOST_LOG_LEVEL: environment.shape.GATEPOST_LOG_LEVEL.unwrap().default('warn') });
