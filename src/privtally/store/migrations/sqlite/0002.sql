-- What an operator says about a campaign is one of its options, so that it goes with the campaign.
UPDATE campaigns
SET options = CAST(json_set(CAST(options AS TEXT), '$.about', settings.value) AS BLOB)
FROM settings
WHERE settings.name = 'about.' || campaigns.id;

DELETE FROM settings WHERE name LIKE 'about.%';
